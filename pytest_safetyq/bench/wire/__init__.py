"""The language between the client and the supervisor: typed messages in msgpack frames."""
