"""The wire protocol as the coordinator speaks it: messages, frames, tapes (protocol/SPEC.md)."""

from rosetta.protocol.frames import Arrays, decode, encode
from rosetta.protocol.messages import VERSION, ProtocolError, UnknownMessageError

__all__ = ["VERSION", "Arrays", "ProtocolError", "UnknownMessageError", "decode", "encode"]
