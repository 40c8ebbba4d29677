package regalloc

// push queues an interval.
func (a *alloc) push(i int32) {
	a.heap = append(a.heap, i)
	k := len(a.heap) - 1
	for k > 0 {
		p := (k - 1) / 2
		if !a.before(a.heap[k], a.heap[p]) {
			return
		}
		a.heap[k], a.heap[p] = a.heap[p], a.heap[k]
		k = p
	}
}

// pop takes the interval that begins first from the queue.
func (a *alloc) pop() int32 {
	top := a.heap[0]
	n := len(a.heap) - 1
	a.heap[0] = a.heap[n]
	a.heap = a.heap[:n]
	for k := 0; ; {
		c := 2*k + 1
		if c >= n {
			return top
		}
		if c+1 < n && a.before(a.heap[c+1], a.heap[c]) {
			c++
		}
		if !a.before(a.heap[c], a.heap[k]) {
			return top
		}
		a.heap[c], a.heap[k] = a.heap[k], a.heap[c]
		k = c
	}
}

func (a *alloc) before(i, j int32) bool {
	x, y := a.ivs[i].from, a.ivs[j].from
	return x < y || x == y && i < j
}
