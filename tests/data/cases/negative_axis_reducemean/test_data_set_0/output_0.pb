By0J
ÀPæqV£>èkwæ