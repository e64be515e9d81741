x:
