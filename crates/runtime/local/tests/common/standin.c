/* Stands in for the shim: does what the claim's token says, one command per line. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void copy(const char *from, const char *to) {
    char buffer[4096];
    size_t n;
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    if (!out) return;
    if (!in) fputs("(missing)", out);
    while (in && (n = fread(buffer, 1, sizeof buffer, in)) > 0) fwrite(buffer, 1, n, out);
    fclose(out);
}

static void list(const char *folder, const char *to) {
    DIR *dir = opendir(folder);
    FILE *out = fopen(to, "w");
    struct dirent *entry;
    if (!out) return;
    while (dir && (entry = readdir(dir))) fprintf(out, "%s\n", entry->d_name);
    fclose(out);
}

/* Reports to the hub's socket (unix:path) and stays until the other side closes. */
static void dial(void) {
    char byte = 'r';
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, getenv("AIRSIDE_HUB") + 5, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) exit(3);
    if (write(fd, &byte, 1) != 1) exit(4);
    while (read(fd, &byte, 1) > 0) {}
    close(fd);
}

int main(void) {
    char *rest = strdup(getenv("AIRSIDE_TOKEN")), *line;
    while ((line = strsep(&rest, "\n"))) {
        char a[512] = "", b[512] = "";
        if (sscanf(line, "copy %511s %511s", a, b) == 2) copy(a, b);
        else if (sscanf(line, "list %511s %511s", a, b) == 2) list(a, b);
        else if (!strncmp(line, "sh ", 3)) { if (system(line + 3)) exit(5); }
        else if (!strcmp(line, "dial")) dial();
        else if (!strcmp(line, "stay")) for (;;) pause();
    }
    return 0;
}
