package k

import (
	"fmt"
	"math"
	"math/bits"
	"os"
	str "strings"

	"example.com/absent/v2"
	"github.com/gokiln/kiln/dsl"
)

//kiln:kernel
func K(t dsl.Thread, x []float32, y []float64, n []int) {
	fmt.Println(x[0])                   // ERROR 2 "K0120: fmt.Println is outside of kernel code"
	y[0] = math.Exp(y[1])               // ERROR 9 "K0120: math.Exp cannot be used in a kernel\nfix: use dsl.Exp"
	y[1] = math.Max(y[1], math.Sqrt(2)) // ERROR 9 "K0120: math.Max cannot be used in a kernel\nfix: use the built-in max"
	y[2] = math.Gamma(y[1])             // ERROR 9 "K0120: math.Gamma cannot be used in a kernel$"
	n[0] = int(bits.Rem(1, 2, 3))       // ERROR 13 "K0120: bits.Rem cannot be used"
	os.Exit(1)                          // ERROR 2 "K0120: os.Exit"
	n[1] = str.Count("a", "b")          // ERROR 9 "K0120: str.Count"
	absent.F()                          // ERROR 2 "K0003: absent.F is outside of kernel code: package example.com/absent/v2 does not register its source"
}

func asm(x float32) float32 // ERROR 6 "K0120: function asm has no Go body"

//kiln:kernel
func L(t dsl.Thread, x []float32) { x[0] = asm(x[1]) }
