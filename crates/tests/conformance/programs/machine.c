/* Tries to reach a port of the machine that the step runs on, by IPv4 and by IPv6, and says by which it did. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int connects(const struct sockaddr *to, socklen_t length)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = 0;
	socklen_t size = sizeof error;
	if (fd < 0)
		return 0;
	if (connect(fd, to, length) < 0 && errno != EINPROGRESS) {
		close(fd);
		return 0;
	}
	struct pollfd one = { .fd = fd, .events = POLLOUT };
	int ready = poll(&one, 1, 2000) == 1;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	close(fd);
	return ready && error == 0;
}

/* The machine's end is where everything goes. */
static int by_ipv4(int port)
{
	char line[512], name[64];
	unsigned destination, gateway;
	FILE *routes = fopen("/proc/net/route", "r");
	while (routes && fgets(line, sizeof line, routes)) {
		if (sscanf(line, "%63s %x %x", name, &destination, &gateway) != 3 || destination != 0)
			continue;
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
		to.sin_addr.s_addr = gateway;
		if (connects((struct sockaddr *)&to, sizeof to))
			return 1;
	}
	return 0;
}

/* Asks everybody on the wire who they are, and tries each who answers. */
static int by_ipv6(int port)
{
	struct icmp6_hdr echo = { .icmp6_type = ICMP6_ECHO_REQUEST };
	struct sockaddr_in6 all = { .sin6_family = AF_INET6, .sin6_scope_id = if_nametoindex("eth0") };
	int fd = socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_ICMPV6);
	inet_pton(AF_INET6, "ff02::1", &all.sin6_addr);
	/* An address may be used a moment after it was made. */
	for (int tries = 0; fd >= 0 && tries < 8; tries++) {
		sendto(fd, &echo, sizeof echo, 0, (struct sockaddr *)&all, sizeof all);
		struct pollfd one = { .fd = fd, .events = POLLIN };
		while (poll(&one, 1, 500) == 1) {
			char answer[512];
			struct sockaddr_in6 from;
			socklen_t length = sizeof from;
			if (recvfrom(fd, answer, sizeof answer, 0, (struct sockaddr *)&from, &length) < 0)
				break;
			from.sin6_port = htons(port);
			if (connects((struct sockaddr *)&from, sizeof from))
				return 1;
		}
	}
	return 0;
}

int main(int count, char **arguments)
{
	int port = count > 1 ? atoi(arguments[1]) : 0;
	printf("IPv4 %s\n", by_ipv4(port) ? "reached" : "closed");
	printf("IPv6 %s\n", by_ipv6(port) ? "reached" : "closed");
	return 0;
}
