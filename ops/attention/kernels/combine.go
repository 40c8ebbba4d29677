package kernels

import "github.com/gokiln/kiln/dsl"

// Combine stores what results over parts of the keys give together, and the log-sum-exp of each
// row: parts (splits, rows, dv) count by the exponentials of their log-sum-exps, partLogs (splits,
// rows), less that of all. Parts are added in their order, so that results are reproducible. A
// thread has an element; those of a row compute its weights each, which are few. lowest is −∞.
//
//kiln:kernel
func Combine[T dsl.Number, C dsl.Real](t dsl.Thread, out []T, logs, parts, partLogs []C, rows, dv, splits int, lowest C) {
	i := t.BlockX()*t.BlockDimX() + t.ThreadX()
	if i >= rows*dv {
		return
	}
	row := i / dv
	most := lowest
	for s := range splits {
		most = max(most, partLogs[s*rows+row])
	}
	top := most
	if most == lowest {
		top = 0 // a row that attends to nothing
	}
	total, sum := C(0), C(0)
	for s := range splits {
		weight := exponential(partLogs[s*rows+row] - top)
		total += weight
		sum = dsl.FMA(weight, parts[s*rows*dv+i], sum)
	}
	if i%dv == 0 {
		logs[row] = most + dsl.Log(total)
	}
	out[i] = dsl.Convert[T](sum * inverse(total))
}
