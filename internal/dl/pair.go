package dl

// Pair is two C calls to be made one after the other on one thread: First(Arg)
// and, if that returns zero, Fn(Args...). It is for interfaces that keep state
// by thread: the first call sets it, the second uses it. Arguments that Fn does
// not have are ignored.
type Pair struct {
	First, Arg uintptr
	Fn         uintptr
	Args       [11]uintptr
}

// Call makes the two calls and returns the first result that is not zero, of
// which C's int is the lower half. It allocates nothing. The Pair must be on
// the heap, as all that C reads.
func (p *Pair) Call() int32 { return p.call() }
