//fuzz: name=KLoopUses blocks=2,1,1 threads=32,1,1 lens=512,256,64,101,0

package testdata

// Two values of a loop that lanes leave at different times are used behind it at a
// join: machine code forgot one, and took what the last lane to leave had made of it.
//
//kiln:kernel
func KLoopUses(t dsl.Thread, out []uint64, own []int8, in []int, more []int32, s int8) {
	id := t.BlockX()*t.BlockSize() + t.ThreadIndex()
	acc := uint64(id)
	result := out[id : id+8]
	v, w := uint32(uint16(id)), int64(1)
	for i, e := range own[id : id*4] {
		_ = e
		if v >= 1 {
		} else if more[1] == 1 {
			if s != 1 {
				w, w = w, w<<s
			} else if v <= 1 {
				var zero [8]uint8
				acc = uint64(zero[6])
			} else {
				var a [3]int = [3]int{0: id, id, [2]int{i, id}[1]}
				_ = a
				acc += uint64(1 << (in[1] ^ 1))
			}
		}
	}
	if w > 1 {
		v, v = 1, uint32(in[in[0]&63])
		acc = uint64(in[1] & 1)
	}
	acc += uint64(w)
	result[7] ^= acc
}
