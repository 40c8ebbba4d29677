package quantized

// SetScratch changes how many elements of a weight are dequantized at a time, until the function that
// it returns is called.
func SetScratch(n int) (end func()) {
	was := scratch
	scratch = n
	return func() { scratch = was }
}

// SetMostBytes changes the size of weights up to which tiles are for them, until the function that it
// returns is called.
func SetMostBytes(n int) (end func()) {
	was := mostBytes
	mostBytes = n
	return func() { mostBytes = was }
}
