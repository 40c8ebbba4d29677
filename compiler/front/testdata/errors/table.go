package k

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

type pair struct {
	a int32
	b [2]float32
}

type counts [4]int

func (c *counts) add(i int) { c[i]++ }

func (c counts) sum() int { return c[0] + c[1] + c[2] + c[3] }

var (
	good     = [...]float32{2: math.Pi, 1}
	nested   = [2][3]uint8{{1, 2, 3}, {2: 9}}
	structs  = [...]pair{{a: 1}, {2, [2]float32{1, 2}}}
	zeros    [4]bool
	named    = counts{1, 2, 3, 4}
	assigned = [4]int{1}
	indexed  [2][2]int
	counted  [4]int
	ranged   [4]int
	pointed  = [4]int{}
	sliced   = [4]int{}
	called   counts
	slice                                     = []int{1, 2}
	computed                                  = makeTable()
	typed    [4]int                           = makeTable()
	partly                                    = [2]float64{1, math.Sqrt(float64(len(slice)))} // ERROR 60 "K0111: math.Sqrt\(float64\(len\(slice\)\)\) is no constant.*partly" ERROR 82 "K0111: package variable slice is a slice"
	texts                                     = [2]string{"a", "b"}                           // ERROR 2 "K0111: package variable texts has type \[2\]string"
	one, two                                  = [1]int{1}, [1]int{2}
	huge     [1 << 16]uint16                  // ERROR 2 "table huge has 131072 bytes, the tables of a kernel have at most 65536 together"
	empty    [0]int                           // ERROR 2 "K0111: package variable empty has type \[0\]int"
	bits     = [2]dsl.F16{1, dsl.F16(0x3C00)} // ERROR 24 "K0125: constant 1 as dsl.F16"
	word     weight                           // ERROR 2 "K0111: package variable word in a kernel"
)

type weight int

func makeTable() [4]int { panic("host only") }

func init() {
	assigned[1] = 7
	(indexed[1])[0] += 2
	counted[2]++
	for ranged[0], ranged[1] = range 3 {
	}
	p := &pointed[1]
	*p = sliced[1:][0]
	called.add(1)
	good := [3]float32{}
	good[0] = 1 // another variable
	for zeros := range 3 {
		zeros++
	}
}

//kiln:kernel
func Good(t dsl.Thread, x []float32) {
	i := t.ThreadX()
	sum := good[i] + float32(nested[i][1]) + structs[i].b[i]
	for _, row := range nested {
		for _, v := range row {
			sum += float32(v)
		}
	}
	if zeros[i] {
		sum += float32(named.sum() + len(named))
	}
	x[i] = sum
}

//kiln:kernel
func Written(t dsl.Thread, x []int) {
	x[0] = assigned[0]   // ERROR 9 "package variable assigned is assigned at example.com/k/table.go:50:2: kernels can read"
	x[0] = indexed[0][0] // ERROR 9 "package variable indexed is assigned at example.com/k/table.go:51:3"
	x[0] = counted[0]    // ERROR 9 "package variable counted is assigned at"
	x[0] = ranged[0]     // ERROR 9 "package variable ranged is assigned at"
	x[0] = pointed[0]    // ERROR 9 "package variable pointed has its address taken at"
	x[0] = sliced[0]     // ERROR 9 "package variable sliced is sliced at"
	x[0] = called[0]     // ERROR 9 "package variable called has its address taken by the call of method add at"
}

//kiln:kernel
func Others(t dsl.Thread, x []int, y []float64) {
	x[0] = slice[0]    // ERROR 9 "package variable slice is a slice.*\n.*make it an array"
	x[0] = computed[0] // ERROR 9 "package variable computed is not initialised by constants"
	x[0] = typed[0]    // ERROR 9 "package variable typed is not initialised by constants"
	y[0] = partly[0]
	x[0] = len(texts[0])
	x[0] = one[0] + two[0] // ERROR 9 "package variable one is declared with others"  ERROR 18 "package variable two"
	x[0] = int(huge[5])
	x[0] = empty[t.ThreadX()]
	x[0] = int(dsl.F32(bits[0]))
	x[0] = int(word)
}
