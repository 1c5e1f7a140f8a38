"""What is changed of Celery, kombu and Flower, or used of them although it is not public.

Each module says what it changes, why, and which versions it was read against. `tests/unit/queue/test_patched_parts.py`
has what each relies on, and fails when an installed version no longer has it.
"""
