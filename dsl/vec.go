package dsl

// Vec is an array of the numbers that a lane moves at once: 2 to 16 bytes make
// one access of the device.
type Vec[T Number] interface {
	[2]T | [4]T | [8]T | [16]T
}

// LoadVec returns vector i of s seen as vectors of N elements: the elements
// from i·N to i·N + N-1. A device reads them at once if s begins at a multiple
// of the vector's size, as every buffer does, and one by one if not.
//
//	v := dsl.LoadVec[[4]float32](x, i)
func LoadVec[V Vec[T], T Number](s []T, i int) (v V) {
	i *= len(v)
	for j := range len(v) {
		v[j] = s[i+j]
	}
	return v
}

// StoreVec stores v as vector i of s, as [LoadVec] reads it.
func StoreVec[V Vec[T], T Number](s []T, i int, v V) {
	i *= len(v)
	for j := range len(v) {
		s[i+j] = v[j]
	}
}
