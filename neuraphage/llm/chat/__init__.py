"""Chat Completions: the API of OpenAI, of most gateways and of nearly every local server.

What is stored of a conversation stays in the form of the Messages API; `request.py` and `collect.py` translate, and
are pure. Only `call.py` and `faults.py` import the SDK (the extra `openai`), and nothing imports them before the first
call.
"""
