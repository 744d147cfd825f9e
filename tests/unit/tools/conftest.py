from hypothesis import settings

# The machine may be busy: how long an example may take is asserted by the tests that care, in processor time.
settings.register_profile("conclave", deadline=None)
settings.load_profile("conclave")
