
2grün2small2green2large2red2large2green2large2green2huge2grün2huge2green2huge2red2huge2green2huge2blue2smallBX