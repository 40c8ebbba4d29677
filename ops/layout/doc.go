// Package layout says where the elements of a tensor are in memory: a [Layout] is a
// shape, a stride for each dimension, and an offset, all in elements.
//
// Views are made by arithmetic on layouts, and never touch an element:
//
//	l := layout.Contiguous(layout.Shape{2, 3}) // strides 3, 1
//	l, err := l.Transpose(0, 1)                // shape 3, 2; strides 1, 3
//	l, err = l.Narrow(0, 1, 2)                 // shape 2, 2; offset 1
//
// Strides are not negative; a stride of 0 repeats an element. Before a kernel walks
// over several operands, [Merge] joins the dimensions that lie behind each other in
// all of them, so that most launches walk over one or two.
//
// Dimensions are counted from 0, or from -1 backwards; [Dim] resolves them.
package layout
