"""Tools agents may call, one file each; `catalogue` lists them. Servers started from here import none of the others."""
