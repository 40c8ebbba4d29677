package tensor

func (t *Tensor) sumTo(s Shape) *Tensor {
	if t.err != nil || t.layout.Shape().Equal(s) {
		return t
	}
	return failf("sum", ErrArgument, "not there")
}
