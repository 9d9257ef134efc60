from hypothesis import settings

# The first example compiles and imports: a deadline for one example would fail by chance.
settings.register_profile("saitan", deadline=None)
settings.load_profile("saitan")
