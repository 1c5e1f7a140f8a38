"""A small process beside each worker process, which renews its leases while its interpreter cannot."""

from neuraphage.standby.standby import StandbyProcess

__all__ = ["StandbyProcess"]
