package vec3

// Primes is a constant table that kernels of other packages read.
var Primes = [...]int16{2, 3, 5, 7}

// Prime reads it for them.
func Prime(i int) int64 { return int64(Primes[i]) }
