"""Tokens for OAUTHBEARER (KIP-255): each source is a file with what the user set, and how a token is fetched there.

`selection` chooses the source by the properties; `fetch` blocks until its limit, so that the network layer and
librdkafka's callback run it in threads of their own. No token is written to a disk.
"""
