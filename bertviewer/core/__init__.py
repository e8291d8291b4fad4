"""The subject: models, their structure, their figures. Uses torch and transformers, never Qt."""
