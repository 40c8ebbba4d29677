package checkpoint

// SetScratch changes how many elements of a weight are dequantized at a time, until the function
// that it returns is called.
func SetScratch(n int) (end func()) {
	was := scratch
	scratch = n
	return func() { scratch = was }
}
