"""Learning from all admissible pairs and the best triplets."""
