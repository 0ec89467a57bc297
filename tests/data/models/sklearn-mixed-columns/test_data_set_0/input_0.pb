
2blue2grün2grün2blue2grün2grün2grün2red2green2blueBcolour