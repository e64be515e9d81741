"""The golden files of protocol 1.0: what stands in them, feature by feature.

`scripts/make-golden` writes them; `protocol/golden/README.md` says how they are read. Nothing here
uses the codecs that they are there to test.
"""
