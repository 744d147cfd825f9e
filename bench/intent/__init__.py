"""How well the local reasoner understands what is asked, before anything is looked up."""
