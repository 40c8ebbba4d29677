package ir

// DepthFirst visits the blocks that root reaches by next, depth first, and returns them in
// postorder. IDs of blocks are below n. If enter is not nil, it is called in preorder with each
// block and the one from which it was reached, nil for root. The search keeps its own stack because
// inlined kernels can be thousands of blocks deep.
func DepthFirst(root *Block, n int, next func(*Block) []*Block, enter func(b, from *Block)) (post []*Block) {
	type frame struct {
		b    *Block
		todo []*Block
	}
	seen := make([]bool, n)
	stack := make([]frame, 0, 32)
	push := func(b, from *Block) {
		seen[b.ID] = true
		if enter != nil {
			enter(b, from)
		}
		stack = append(stack, frame{b, next(b)})
	}
	push(root, nil)
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.todo) == 0 {
			post = append(post, top.b)
			stack = stack[:len(stack)-1]
			continue
		}
		b, from := top.todo[0], top.b
		top.todo = top.todo[1:]
		if !seen[b.ID] {
			push(b, from)
		}
	}
	return post
}
