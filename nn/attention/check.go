package attention

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/tensor"
)

// problem is attention of operands that fit: leading dimensions are one, and the heads of queries
// are in groups that share a head of keys.
type problem struct {
	operands
	lead, sizes  []int // the leading dimensions, and those of a result behind them but the last
	b, hkv, g    int   // batch, heads of keys, heads of queries of each
	s, kv, d, dv int
	left, right  int // how far from its position a query attends
	scale        float64
	acc          tensor.DType // of scores, probabilities and sums
	o            Options
}

// operands are the tensors of a problem or of a block of it, nil if there are none: queries
// (b, hkv, g, s, d), keys (b, hkv, kv, d), values (b, hkv, kv, dv), and others that are broadcast
// to the scores, (b, hkv, g, s, kv).
type operands struct {
	q, k, v, mask, slopes, sinks *tensor.Tensor
}

// fields returns where the operands are, in their order.
func (x *operands) fields() []**tensor.Tensor {
	return []**tensor.Tensor{&x.q, &x.k, &x.v, &x.mask, &x.slopes, &x.sinks}
}

// list returns the operands that are there.
func (x operands) list() (list []*tensor.Tensor) {
	for _, t := range x.fields() {
		if *t != nil {
			list = append(list, *t)
		}
	}
	return list
}

// of returns the same operands with the tensors of a list.
func (x operands) of(list []*tensor.Tensor) operands {
	for _, t := range x.fields() {
		if *t != nil {
			*t, list = list[0], list[1:]
		}
	}
	return x
}

// check returns the problem of operands, or what is wrong with them.
func check(q, k, v *tensor.Tensor, o Options) (*problem, error) {
	if err := checkTypes(q, k, v, &o); err != nil {
		return nil, err
	}
	rank := q.Rank()
	if rank < 2 || k.Rank() < 2 || v.Rank() < 2 {
		return nil, fmt.Errorf("%w: queries %v, keys %v and values %v, want (…, heads, tokens, size) each",
			tensor.ErrRank, q.Shape(), k.Shape(), v.Shape())
	}
	if rank != k.Rank() || rank != v.Rank() {
		return nil, fmt.Errorf("%w: queries %v, keys %v and values %v have different numbers of dimensions",
			tensor.ErrRank, q.Shape(), k.Shape(), v.Shape())
	}
	p := &problem{o: o, s: q.Size(-2), d: q.Size(-1), kv: k.Size(-2), dv: v.Size(-1), acc: q.DType()}
	if k.Size(-1) != p.d {
		return nil, fmt.Errorf("%w: queries %v and keys %v differ in the last dimension", tensor.ErrShape, q.Shape(), k.Shape())
	}
	if v.Size(-2) != p.kv {
		return nil, fmt.Errorf("%w: keys %v and values %v differ in the number of tokens", tensor.ErrShape, k.Shape(), v.Shape())
	}
	if p.acc == tensor.F16 || p.acc == tensor.BF16 {
		p.acc = tensor.F32
	}
	if p.scale = o.Scale; p.scale == 0 {
		p.scale = 1 / math.Sqrt(float64(max(p.d, 1)))
	}
	p.left, p.right = o.bounds()
	if err := p.group(q, k, v); err != nil {
		return nil, err
	}
	return p, p.checkOthers()
}

// checkTypes checks element types, devices and numbers.
func checkTypes(q, k, v *tensor.Tensor, o *Options) error {
	names := []string{"queries", "keys", "values", "mask", "ALiBi slopes", "sinks"}
	for i, t := range []*tensor.Tensor{q, k, v, o.Mask, o.ALiBi, o.Sinks} {
		switch {
		case t == nil && i >= 3:
			continue
		case t == nil:
			return fmt.Errorf("%w: the %s are nil", tensor.ErrArgument, names[i])
		case t.Err() != nil:
			return t.Err()
		case t.Device() != q.Device():
			return fmt.Errorf("%w: the %s are on %v, the queries on %v", tensor.ErrDevice, names[i], t.Device(), q.Device())
		case i < 3 && t.DType() != q.DType():
			return fmt.Errorf("%w: the %s are %v, the queries %v", tensor.ErrDTypeMismatch, names[i], t.DType(), q.DType())
		case !isFloat(t.DType()) && !(i == 3 && t.DType() == tensor.U8):
			return fmt.Errorf("%w: the %s are of type %v", tensor.ErrDType, names[i], t.DType())
		}
	}
	if err := o.checkFunctions(q.DType()); err != nil {
		return err
	}
	return o.checkNumbers()
}

// checkNumbers checks the numbers among the options.
func (o *Options) checkNumbers() error {
	if !(o.Dropout >= 0 && o.Dropout <= 1) {
		return fmt.Errorf("%w: a dropout of %v, want 0 to 1", tensor.ErrArgument, o.Dropout)
	}
	if !(o.SoftCap >= 0) || math.IsInf(o.SoftCap, 0) {
		return fmt.Errorf("%w: a soft cap of %v", tensor.ErrArgument, o.SoftCap)
	}
	if math.IsNaN(o.Scale) || math.IsInf(o.Scale, 0) {
		return fmt.Errorf("%w: a scale of %v", tensor.ErrArgument, o.Scale)
	}
	if w := o.Window; w != nil && (w.Left < Unlimited || w.Right < Unlimited) {
		return fmt.Errorf("%w: a window of %d keys in front and %d behind", tensor.ErrArgument, w.Left, w.Right)
	}
	return nil
}

func isFloat(d tensor.DType) bool {
	return d == tensor.F16 || d == tensor.BF16 || d == tensor.F32 || d == tensor.F64
}

// group brings queries, keys and values to the shapes of operands.
func (p *problem) group(q, k, v *tensor.Tensor) error {
	hq := 1
	p.hkv = 1
	p.sizes = []int{p.s}
	if q.Rank() > 2 {
		hq, p.hkv = q.Size(-3), k.Size(-3)
		p.sizes = []int{hq, p.s}
		if v.Size(-3) != p.hkv {
			return fmt.Errorf("%w: keys %v and values %v differ in the number of heads", tensor.ErrShape, k.Shape(), v.Shape())
		}
	}
	if p.hkv == 0 || hq%p.hkv != 0 {
		return fmt.Errorf("%w: %d heads of queries are no multiple of %d heads of keys", tensor.ErrShape, hq, p.hkv)
	}
	p.g = hq / p.hkv
	p.b = 1
	for i := range max(q.Rank()-3, 0) {
		n := q.Size(i)
		for _, t := range []*tensor.Tensor{k, v} {
			if n == 1 {
				n = t.Size(i)
			}
			if t.Size(i) != n && t.Size(i) != 1 {
				return fmt.Errorf("%w: queries %v, keys %v and values %v", tensor.ErrBroadcast, q.Shape(), k.Shape(), v.Shape())
			}
		}
		p.lead = append(p.lead, n)
		p.b *= n
	}
	p.q = p.flat(q, hq).Reshape(p.b, p.hkv, p.g, p.s, p.d)
	p.k, p.v = p.flat(k, p.hkv), p.flat(v, p.hkv)
	return nil
}

// flat broadcasts the leading dimensions and makes one of them.
func (p *problem) flat(t *tensor.Tensor, heads int) *tensor.Tensor {
	rows, size := t.Size(-2), t.Size(-1)
	if t.Rank() > 3 {
		t = t.BroadcastTo(append(slices.Clone(p.lead), heads, rows, size)...)
	}
	return t.Reshape(p.b, heads, rows, size)
}

// checkOthers brings the masks, slopes and sinks of the options to the shapes of operands.
func (p *problem) checkOthers() (err error) {
	if p.mask, err = p.scoresOf("mask", p.o.Mask, p.s, p.kv); err != nil {
		return err
	}
	if p.slopes, err = p.ofHeads("ALiBi slopes", p.o.ALiBi); err != nil {
		return err
	}
	if p.sinks, err = p.ofHeads("sinks", p.o.Sinks); err != nil {
		return err
	}
	if p.mask != nil && p.mask.DType() != tensor.U8 {
		p.mask = p.mask.Cast(p.acc)
	}
	return nil
}

// ofHeads returns numbers of the heads, of the type of the scores, in five dimensions.
func (p *problem) ofHeads(name string, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t == nil {
		return nil, nil
	}
	if t.Rank() == 0 || t.Size(-1) != p.hkv*p.g {
		return nil, fmt.Errorf("%w: the %s are %v, want one for each of %d heads", tensor.ErrShape, name, t.Shape(), p.hkv*p.g)
	}
	t, err := p.scoresOf(name, t.Unsqueeze(-1).Unsqueeze(-1), 1, 1)
	if err != nil {
		return nil, err
	}
	return t.Cast(p.acc), nil
}

// scoresOf returns a tensor that is broadcast to (leading dimensions…, heads, rows, columns) in
// five dimensions, in which sizes of 1 are left as they are.
func (p *problem) scoresOf(name string, t *tensor.Tensor, rows, columns int) (*tensor.Tensor, error) {
	if t == nil {
		return nil, nil
	}
	want := append(slices.Clone(p.lead), p.hkv*p.g, rows, columns)
	has := slices.Clone([]int(t.Shape()))
	if extra := len(has) - len(want); extra > 0 {
		return nil, fmt.Errorf("%w: the %s %v, want what is broadcast to %v", tensor.ErrBroadcast, name, t.Shape(), tensor.Shape(want))
	}
	has = append(slices.Repeat([]int{1}, len(want)-len(has)), has...)
	for i, n := range has {
		if n != 1 && n != want[i] {
			return nil, fmt.Errorf("%w: the %s %v, want what is broadcast to %v", tensor.ErrBroadcast, name, t.Shape(), tensor.Shape(want))
		}
	}
	lead, last := has[:len(p.lead)], has[len(p.lead):]
	t, b := t.Reshape(has...), 1
	if slices.ContainsFunc(lead, func(n int) bool { return n != 1 }) {
		t, b = t.BroadcastTo(append(slices.Clone(p.lead), last...)...), p.b
	}
	if last[0] == 1 {
		return t.Reshape(b, 1, 1, last[1], last[2]), nil
	}
	return t.Reshape(b, p.hkv, p.g, last[1], last[2]), nil
}
