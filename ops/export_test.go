package ops

import "reflect"

// LimitBlocks makes the grids of kernels that loop over rows, products or images at most so many
// blocks high and deep, until the function that it returns is called.
func LimitBlocks(n int) (end func()) {
	gridLimit = n
	return func() { gridLimit = MaxGridY }
}

// InstanceType is the type of the instance of a prototype.
func InstanceType(a TypeArgs, prototype any) reflect.Type {
	a = a.defaults()
	return a.inFunc(reflect.TypeOf(prototype))
}
