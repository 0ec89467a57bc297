
2large2large2small2huge2huge2huge2small2large2large2smallBsize