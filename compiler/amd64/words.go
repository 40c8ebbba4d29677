package amd64

// log2 is the logarithm of n to base 2, rounded up.
func log2(n int) (k int) {
	for 1<<k < n {
		k++
	}
	return k
}

// iotaWords are the 32-bit words 0, step, 2*step, …
func iotaWords(n int, step int64) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = uint32(int64(i) * step)
	}
	return w
}

// sameWords are n equal 32-bit words.
func sameWords(n int, x uint32) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = x
	}
	return w
}
