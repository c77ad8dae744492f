class Node:
    __slots__ = ("key", "left", "right")

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

def insert(n, key):
    if n is None:
        return Node(key)
    if key < n.key:
        n.left = insert(n.left, key)
    elif key > n.key:
        n.right = insert(n.right, key)
    return n

def total(n):
    return 0 if n is None else n.key + total(n.left) + total(n.right)

def main():
    root, seed = None, 1
    for _ in range(50000):
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        root = insert(root, seed >> 8)
    print(total(root), end="")

main()
