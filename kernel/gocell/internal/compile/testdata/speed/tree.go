package main

import "fmt"

type node struct {
	key         int
	left, right *node
}

func insert(n *node, key int) *node {
	if n == nil {
		return &node{key: key}
	}
	if key < n.key {
		n.left = insert(n.left, key)
	} else if key > n.key {
		n.right = insert(n.right, key)
	}
	return n
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.key + n.left.sum() + n.right.sum()
}

func main() {
	var root *node
	seed := 1
	for range 50000 {
		seed = (seed*1103515245 + 12345) & 0x7fffffff
		root = insert(root, seed>>8)
	}
	fmt.Print(root.sum())
}
