"""What makes the service accountable: the audit's chain, refused sign-ins, and what is removed after its time."""
