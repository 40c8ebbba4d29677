package tensor

import (
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/scatter"
)

// ScatterBy is how [Tensor.ScatterReduce] combines elements.
type ScatterBy = scatter.ScatterBy

// The reductions of [Tensor.ScatterReduce].
var (
	ScatterSum  = scatter.ScatterSum  // their sum
	ScatterProd = scatter.ScatterProd // their product
	ScatterMean = scatter.ScatterMean // their mean
	ScatterMax  = scatter.ScatterMax  // the largest, NaN if one is
	ScatterMin  = scatter.ScatterMin  // the smallest, NaN if one is
)

// ScatterReduce returns t with the elements of src combined, in row-major order, where
// [Tensor.Scatter] puts them: with self after the element of t, and else without it.
// Elements that no index names stay. Of elements that tie for the largest or smallest all
// have the same part of the gradient.
func (t *Tensor) ScatterReduce(by *ScatterBy, ids, src *Tensor, d int, self bool) *Tensor {
	if by == nil || by.Name() == "" {
		return failf("scatter_reduce", ErrArgument, "no way to combine elements: want ScatterSum or another one of its kind")
	}
	ids = ids.kept()
	return t.scatter(by.Name(), ids, src, d, func(out ops.View) error {
		return scatter.ScatterReduce(t.dev.stream, by, out, ids.view(), src.view(), d, self)
	}, func(g, out *Tensor, in []*Tensor) []*Tensor {
		c := combined{t: in[0], src: in[1], out: out, g: g, ids: ids, d: d, self: self}
		switch by {
		case ScatterMean:
			return c.mean()
		case ScatterProd:
			return c.product()
		case ScatterMax, ScatterMin:
			return c.tied()
		}
		return []*Tensor{c.kept(g), g.Gather(ids, d)}
	})
}

// combined is what the gradients of a scatter are made of.
type combined struct {
	t, src, out, g, ids *Tensor
	d                   int
	self                bool
}

// sum adds numbers for the elements of src up for those of t, from zeros on.
func (c *combined) sum(x *Tensor) *Tensor { return c.t.ZerosLike().ScatterAdd(c.ids, x, c.d) }

// sumType is the type in which sums of elements of a type are made before they are rounded.
func sumType(d DType) DType {
	if d.IsFloat() {
		return d.Compute()
	}
	return d
}

// counts is how many elements of src go to each of t, in a type that has the number of them.
func (c *combined) counts() *Tensor {
	d := sumType(c.t.dtype)
	return c.t.ZerosLike().Cast(d).ScatterAdd(c.ids, c.src.OnesLike().Cast(d), c.d)
}

// untouched reports which elements of t no index names.
func (c *combined) untouched() *Tensor { return c.counts().EqScalar(0) }

// kept is the gradient x of t, but where an element was replaced.
func (c *combined) kept(x *Tensor) *Tensor {
	if c.self {
		return x
	}
	return c.g.where(c.untouched())
}

func (c *combined) mean() []*Tensor {
	n := c.counts()
	if c.self {
		n = n.AddScalar(1)
	}
	part := c.g.Cast(n.dtype).Div(n.MaximumScalar(1)).Cast(c.g.dtype)
	return []*Tensor{c.kept(part), part.Gather(c.ids, c.d)}
}

// tied gives those that are the result equal parts.
func (c *combined) tied() []*Tensor {
	own, other := c.t.Eq(c.out), c.src.Eq(c.out.Gather(c.ids, c.d))
	if !c.self {
		own = own.LogicalAnd(c.untouched())
	}
	part := c.g.Div(own.Cast(c.t.dtype).Add(c.sum(other.Cast(c.t.dtype))))
	return []*Tensor{part.where(own), part.Gather(c.ids, c.d).where(other)}
}

// product is what the others give: the product of those that are not 0 over the element,
// if none is 0, and for one that is 0 if no other is.
func (c *combined) product() []*Tensor {
	first, zero := c.t, c.src.EqScalar(0)
	if !c.self {
		first = c.t.OnesLike()
	}
	own := first.EqScalar(0)
	zeros := own.Cast(c.t.dtype).Add(c.sum(zero.Cast(c.t.dtype)))
	first, src := own.Where(first.OnesLike(), first), zero.Where(c.src.OnesLike(), c.src)
	product := c.g.Mul(first.ScatterReduce(ScatterProd, c.ids, src, c.d, true))
	of := func(p, n, x, zero *Tensor) *Tensor {
		return zero.Where(p.where(n.EqScalar(1)), p.Div(x).where(n.EqScalar(0)))
	}
	there := func(x *Tensor) *Tensor { return x.Gather(c.ids, c.d) }
	return []*Tensor{c.kept(of(product, zeros, first, own)), of(there(product), there(zeros), src, zero)}
}
