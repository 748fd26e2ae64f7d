"""What a network says of records: exact posteriors, evidence, and what caused each finding."""
