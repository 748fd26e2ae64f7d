"""The clean-up (Section 3.3): what the schedule leaves, learned wherever it is identifiable."""
