package kernels

import "github.com/gokiln/kiln/dsl"

// Connected components of a picture of width by height pixels: each pixel that is not 0
// gets the number, one more than its place, of the first pixel of its component. The
// three kernels run one after the other.

// LabelInit points each pixel of a component at the first of its row.
//
//kiln:kernel
func LabelInit(t dsl.Thread, label []int32, picture []uint8, width int) {
	i := t.Global()
	if i >= len(label) {
		return
	}
	if picture[i] == 0 {
		label[i] = 0
		return
	}
	first := i
	if x := i % width; x > 0 && picture[i-1] != 0 {
		first = i - 1
	}
	label[i] = int32(first) + 1
}

// LabelMerge joins the trees of pixels that lie above each other.
//
//kiln:kernel
func LabelMerge(t dsl.Thread, label []int32, width int) {
	i := t.Global()
	if i < width || i >= len(label) || label[i] == 0 || label[i-width] == 0 {
		return
	}
	if x := i % width; x > 0 && label[i-1] != 0 && label[i-width-1] != 0 {
		return // the pixels before these join them
	}
	a, b := labelRoot(label, int32(i)+1), labelRoot(label, int32(i-width)+1)
	for a != b {
		if a < b {
			a, b = b, a
		}
		old := dsl.AtomicMin(&label[a-1], b)
		if old == a {
			break
		}
		a = labelRoot(label, old)
		b = labelRoot(label, b)
	}
}

// LabelFlatten points each pixel at its root.
//
//kiln:kernel
func LabelFlatten(t dsl.Thread, label []int32) {
	if i := t.Global(); i < len(label) && label[i] != 0 {
		label[i] = labelRoot(label, label[i])
	}
}

func labelRoot(label []int32, n int32) int32 {
	for {
		up := dsl.AtomicLoad(&label[n-1])
		if up == n {
			return n
		}
		n = up
	}
}
