package kernels

import "github.com/gokiln/kiln/dsl"

// Runs counts how many bytes are equal at two places: of neighbouring threads and of others,
// up to limits that all have in common or not, forwards from both and downwards from thread
// to thread, in a loop around it, and in signed bytes from some place on. The text is the
// first size bytes: runs would go on behind it.
//
//kiln:kernel
func Runs(t dsl.Thread, out []int32, text []uint8, signed []int8, where []int32, far []int64, size, limit int) {
	text = text[:size]
	i := t.Global()
	if i >= len(text) {
		return
	}
	n, c := 0, int(where[i])
	if c >= 0 {
		for n < limit && i+n < len(text) && c+n < len(text) && text[i+n] == text[c+n] {
			n++
		}
	}
	out[5*i] = int32(n)

	n, f := 0, int(far[i])
	for f+n < len(text) && i+n < len(text) && text[f+n] == text[i+n] {
		n++
	}
	out[5*i+1] = int32(n)

	stop := min(i+i%13, len(text))
	n = 2
	for n+i < stop && text[n+i] == text[n] {
		n++
	}
	out[5*i+2] = int32(n)

	best := 0
	for d := 1; d <= limit && d <= i; d++ {
		n := 0
		for i+n < len(text) && text[i+n] == text[i-d+n] {
			n++
		}
		best = max(best, n)
	}
	out[5*i+3] = int32(best)

	last := len(signed) - 1 - i
	for n = i % 2; n < i && signed[last+n] == signed[n]; {
		n++
	}
	out[5*i+4] = int32(n)
}

// FaultRun counts equal bytes from two places on until there are none: c is where the second
// place of thread at is, that of others is their own plus one.
//
//kiln:kernel
func FaultRun(t dsl.Thread, out []int32, text []uint8, at, c int) {
	i := t.Global()
	j := i + 1
	if i == at {
		j = c
	}
	n := 0
	for text[i+n] == text[j+n] {
		n++
	}
	out[i] = int32(n)
}
