"""What makes the service accountable and fair: the audit's chain, refused sign-ins, what is removed after its time, and
whose questions are taken in."""
