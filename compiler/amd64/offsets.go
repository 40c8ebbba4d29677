package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

func (o *offsets) add(index *ir.Value, scale int64) {
	o.terms = append(o.terms, term{index, scale})
}

// total returns the sum as a vector of indices with a scale that instructions have.
func (o *offsets) total() (val, uint8) {
	if len(o.terms) == 1 && o.step == 0 {
		t := o.terms[0]
		switch t.scale {
		case 1, 2, 4, 8:
			return o.indices(t.index), uint8(t.scale)
		}
	}
	if o.mem32 {
		return o.narrow(), 1
	}
	return o.wide(), 1
}

// indices returns an index in 32 signed bits if it is made of such, else in 64.
func (o *offsets) indices(v *ir.Value) val {
	x := v
	if v.Op == ir.OpConvert && v.Type.Size() == 8 && v.Args[0].Type.IsInt() {
		x = v.Args[0]
	}
	r := o.e.vectors(x)
	if x.Type.Kind == ir.KU32 && x.Block != nil {
		if _, hi := o.e.ranges(x, x.Block); hi > 1<<31-1 {
			return o.e.extend(r, false)
		}
	}
	return r
}

// narrow returns the sum in 32 bits.
func (o *offsets) narrow() val {
	e := o.e
	var sum val
	if o.step != 0 || len(o.terms) == 0 {
		sum = e.iota32(o.step)
	}
	for _, t := range o.terms {
		x := o.indices(t.index)
		if x.n == 2 {
			x = e.truncate(x)
		}
		x = e.times32(x, t.scale)
		if sum.n == 0 {
			sum = x
			continue
		}
		r := e.vec()
		e.op(asm.VPADDD, e.width(), asm.R(r), asm.R(sum.reg[0]), asm.R(x.reg[0]))
		sum = val{reg: [2]asm.Reg{r}, n: 1}
	}
	return sum
}

// wide returns the sum in 64 bits.
func (o *offsets) wide() val {
	e := o.e
	var sum val
	if o.step != 0 || len(o.terms) == 0 {
		sum = e.iota64(o.step)
	}
	for _, t := range o.terms {
		x := o.indices(t.index)
		if x.n == 1 {
			x = e.extend(x, true)
		}
		x = e.times64(x, t.scale)
		if sum.n == 0 {
			sum = x
			continue
		}
		sum = e.add64(sum, x)
	}
	return sum
}
