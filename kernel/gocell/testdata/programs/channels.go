package main

import "fmt"

type msg struct {
	id   int
	back chan string
}

func serve(in chan msg) {
	for m := range in {
		m.back <- fmt.Sprint("reply ", m.id)
	}
}

func sieve(n int) (primes []int) {
	ch := make(chan int)
	go func(out chan<- int) {
		for i := 2; ; i++ {
			out <- i
		}
	}(ch)
	for range n {
		p := <-ch
		primes = append(primes, p)
		next := make(chan int)
		go func(in <-chan int, out chan<- int) {
			for {
				if i := <-in; i%p != 0 {
					out <- i
				}
			}
		}(ch, next)
		ch = next
	}
	return
}

func main() {
	in := make(chan msg)
	go serve(in)
	for i := range 3 {
		b := make(chan string)
		in <- msg{i, b}
		fmt.Println(<-b)
	}
	close(in)
	fmt.Println(sieve(8))
	c := make(chan int, 3)
	c <- 1
	c <- 2
	fmt.Println(len(c), cap(c))
	close(c)
	v, ok := <-c
	fmt.Println(v, ok)
	v, ok = <-c
	fmt.Println(v, ok)
	v, ok = <-c
	fmt.Println(v, ok)
	cs := []chan int{make(chan int, 1), make(chan int, 1)}
	cs[1] <- 42
	select {
	case x := <-cs[0]:
		fmt.Println("zero", x)
	case x, ok := <-cs[1]:
		fmt.Println("one", x, ok)
	}
	m := map[string]chan string{"a": make(chan string, 1)}
	m["a"] <- "hello"
	fmt.Println(<-m["a"])
	fc := make(chan func(int) int, 1)
	fc <- func(i int) int { return i * 3 }
	fmt.Println((<-fc)(14))
	var arr [2]int
	ac := make(chan int, 1)
	ac <- 7
	arr[1] = <-ac
	fmt.Println(arr)
	cc := make(chan chan int, 1)
	inner := make(chan int, 1)
	cc <- inner
	inner <- 5
	fmt.Println(<-<-cc)
	sel := make(chan int, 1)
	for i := range 4 {
		select {
		case sel <- i:
			fmt.Print("sent ", i, " ")
		case x := <-sel:
			fmt.Print("got ", x, " ")
		}
	}
	fmt.Println()
	ro, wo := (<-chan int)(sel), (chan<- int)(sel)
	wo <- 8
	fmt.Println(<-ro, fmt.Sprintf("%T %T", ro, wo))
	func() {
		defer func() { fmt.Println(recover()) }()
		close(c)
	}()
	func() {
		defer func() { fmt.Println(recover()) }()
		c <- 1
	}()
}
