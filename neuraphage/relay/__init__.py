"""The relay: a process that holds the connections to the model's provider, so that a reply outlives its worker.

A worker hands it a request under a call id and reads the answer from it. The relay sends each call id at most once,
keeps what the provider answers in files, and serves it to whoever asks, from the first byte. So when a worker dies, the
next one of this host goes on with the very reply that is on its way, and nothing is paid twice.
"""
