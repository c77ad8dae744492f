package main

import "fmt"

func search(grid [][]int, want int) (int, int) {
	for i, row := range grid {
		for j, v := range row {
			if v == want {
				return i, j
			}
		}
	}
	return -1, -1
}

func gotos(n int) string {
	s := ""
	i := 0
top:
	if i >= n {
		goto done
	}
	s += fmt.Sprint(i)
	i++
	if i == 3 {
		goto skip
	}
	goto top
skip:
	s += "skip"
	i += 2
	goto top
done:
	return s
}

func states(in string) (out []string) {
	i := 0
start:
	for i < len(in) {
		switch c := in[i]; {
		case c == ' ':
			i++
			continue start
		case c >= '0' && c <= '9':
			j := i
			for j < len(in) && in[j] >= '0' && in[j] <= '9' {
				j++
			}
			out = append(out, "num:"+in[i:j])
			i = j
		case c == '!':
			break start
		default:
			out = append(out, "op:"+string(c))
			i++
		}
	}
	return
}

func main() {
	fmt.Println(search([][]int{{1, 2}, {3, 4}}, 3))
	fmt.Println(search(nil, 3))
	fmt.Println(gotos(7), gotos(0), gotos(2))
	fmt.Println(states("12 + 3*45 ! 6"))
	n := 0
	func() {
	outer:
		for i := 0; ; i++ {
			for j := 0; ; j++ {
				n++
				switch {
				case j > i:
					continue outer
				case i == 4:
					break outer
				}
			}
		}
	}()
	fmt.Println(n)
	func() {
	sw:
		switch x := 3; x {
		case 3:
			for {
				if x == 3 {
					break sw
				}
			}
			fmt.Println("unreached")
		}
		fmt.Println("after switch")
	}()
	func() {
	blk:
		for {
			if n > 0 {
				break blk
			}
			fmt.Println("unreached")
		}
		c := make(chan int, 1)
		c <- 1
	sel:
		for {
			select {
			case v, ok := <-c:
				if ok && v == 1 {
					close(c)
					continue sel
				}
				fmt.Println("closed", v)
				break sel
			}
		}
	}()
	for i := range 3 {
		switch i {
		case 0:
			continue
		case 1:
			break
		default:
			fmt.Println("default", i)
			fallthrough
		case 7:
			fmt.Println("seven", i)
		case 8:
			fmt.Println("eight", i)
		}
		fmt.Println("loop", i)
	}
	func() {
		i := 0
	loop:
		fmt.Print(i, " ")
		if i++; i < 4 {
			goto loop
		}
		fmt.Println()
	}()
	func() {
	a:
		for x := range 4 {
		b:
			for y := range 4 {
				for z := range 4 {
					if z == 2 {
						continue b
					}
					if y == 2 {
						continue a
					}
					if x == 2 {
						break a
					}
					fmt.Print(x, y, z, " ")
				}
			}
		}
		fmt.Println()
	}()
}
