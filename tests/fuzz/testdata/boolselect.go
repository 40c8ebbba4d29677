//fuzz: name=KBoolSelect blocks=2,1,1 threads=64,1,1 lens=128,128,64

package testdata

// A bool chosen by a condition that shares parts with what is chosen from, one of
// which implies the other: ptxas 12.8 to 13.5 forgot a negation in the predicate
// logic of these.
//
//kiln:kernel
func KBoolSelect(t dsl.Thread, out []uint64, in []int32, other []uint32) {
	id := t.Global()
	a := in[id] <= in[id^1]&^in[id^2]
	b := a && other[uint(id)&63] == other[uint(in[id])&63]
	var v [8]int64
	acc := uint64(id)
	for i := range 20 {
		switch {
		case other[uint(v[id&7])&63]-other[uint(id)&63] >= other[uint(v[i&7])&63]+other[uint(in[id])&63]:
			if other[uint(acc)&63]&1 == 0 {
				b = a && other[uint(i)&63] < other[uint(id+i)&63]
			}
		case choose(b || a, b && a, !b):
			v[5] = int64(in[uint(v[id&7])&127])
		case [2]bool{a, b}[other[uint(i)&63]&1]:
			acc = acc*31 + 7
		}
	}
	out[id] = acc*31 + uint64(v[5])
}
