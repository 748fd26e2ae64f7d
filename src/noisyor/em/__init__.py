"""EM: expectations of several kinds, one maximisation, the ascent, and standard errors."""
