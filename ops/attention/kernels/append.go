package kernels

import "github.com/gokiln/kiln/dsl"

// Appended says where the keys and values of one new token of each batch are, and where they go:
// rows of D and DV elements, of which 2·Pairs of the keys are rotated.
type Appended struct {
	Heads, D, DV int
	Pairs        int
	PagesAt      int     // where in the table the pages are, if there are
	K, V         Strides // of batches and heads
	ToK, ToV     Strides // of batches or pages, heads and tokens

	Page        dsl.ConstInt  // tokens of a page, 0 for none
	Rotated     dsl.ConstBool // keys are
	Interleaved dsl.ConstBool // a pair is neighbours, and not Pairs apart
}

// Append stores the keys and values of one new token of each batch in a cache, at the token that
// the table has as the batch's query: see [Problem]. Keys are rotated as by RoPE (Su et al.,
// "RoFormer", 2021) by tables with a row for each batch. A block has a head of a batch.
//
//kiln:kernel
//kiln:const a.Page=0,16 a.Rotated=true a.Interleaved=false,true
func Append[T dsl.Float, C dsl.Real](t dsl.Thread, toK, toV, k, v []T, cos, sin []C, table []int32, a Appended) {
	batch := divide(t.BlockX(), a.Heads)
	head := t.BlockX() - batch*a.Heads
	token, key := int(table[batch*SequenceLen+atQuery]), int(table[batch*SequenceLen+atKey])
	plane, row := batch, key+token
	if a.Page > 0 {
		page := divide(token, int(a.Page))
		plane, row = int(table[a.PagesAt+key+page]), token-page*int(a.Page)
	}
	from, to := batch*a.K.Batch+head*a.K.Head, plane*a.ToK.Batch+head*a.ToK.Head+row*a.ToK.Key
	rotated := 0
	if a.Rotated {
		rotated = 2 * a.Pairs
		for i := t.ThreadX(); i < a.Pairs; i += t.BlockDimX() {
			m, n := i, i+a.Pairs
			if a.Interleaved {
				m, n = 2*i, 2*i+1
			}
			c, s := cos[batch*a.Pairs+i], sin[batch*a.Pairs+i]
			x, y := dsl.Convert[C](k[from+m]), dsl.Convert[C](k[from+n])
			toK[to+m], toK[to+n] = dsl.Convert[T](x*c-y*s), dsl.Convert[T](x*s+y*c)
		}
	}
	for i := rotated + t.ThreadX(); i < a.D; i += t.BlockDimX() {
		toK[to+i] = k[from+i]
	}
	from, to = batch*a.V.Batch+head*a.V.Head, plane*a.ToV.Batch+head*a.ToV.Head+row*a.ToV.Key
	for i := t.ThreadX(); i < a.DV; i += t.BlockDimX() {
		toV[to+i] = v[from+i]
	}
}
