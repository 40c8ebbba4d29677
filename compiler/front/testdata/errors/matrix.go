package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []dsl.BF16, n int, y []float64) {
	a, c, d := dsl.LocalSlice[dsl.BF16](8), dsl.LocalSlice[float32](4), dsl.LocalSlice[float64](4)
	s := dsl.SharedSlice[dsl.BF16](t, 512)
	dsl.MMA(t, a, 0, a, 4, c, 0)
	dsl.MMA(t, x, 0, a, 0, c, 0)                                                                // ERROR 2 "K0309: a slice of dsl.MMA is not in local memory"
	dsl.LoadMatrix(t, a, 0, x, 0, false)                                                        // ERROR 2 "K0309: a slice of dsl.LoadMatrix is not in shared memory"
	dsl.LoadMatrix(t, a, 0, s, 0, n > 0)                                                        // ERROR 2 "K0309: whether dsl.LoadMatrix transposes is no constant"
	dsl.WarpgroupMMA(t, s, 0, a, 0, c, 0, 8, 64, false, false, true)                            // ERROR 2 "K0309: a slice of dsl.WarpgroupMMA is not in shared memory"
	y[0] = float64(dsl.MatrixRow[dsl.BF16](t, dsl.MatrixOperand(n), 0))                         // ERROR 17 "K0309: what is asked of dsl.MatrixRow is no constant of package dsl"
	y[1] = float64(c[0]) + d[0] + float64(dsl.MatrixShape[dsl.F16, float32](t, dsl.MatrixK+90)) // ERROR 40 "K0309: what is asked of dsl.MatrixShape"
}
