//! Requests about the whole server: its wall, its users, and plain requests.

use airside_scenarios::{Database, Transcript};

pub(crate) fn the_server_itself(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::logged_in(&server);
    for line in [
        "fly -t main get-wall",
        "fly -t main set-wall -m 'the server rests at noon'",
        "fly -t main get-wall",
        "fly -t main set-wall -m 'not for long' --ttl 10h",
        "fly -t main get-wall | sed -E 's/[0-9hms.]+$/<left>/'",
        "fly -t main set-wall -m ''",
        "fly -t main clear-wall",
        "fly -t main clear-wall",
        "fly -t main get-wall",
        "fly -t main active-users",
        "fly -t main --print-table-headers active-users",
        "fly -t main active-users --json",
        "fly -t main active-users --since 2000-01-31",
        "fly -t main active-users --since yesterday",
        "fly -t main active-users --since 2100-01-31",
        "fly -t main get-components > /dev/null",
        "fly -t main health | head -n 3 | awk '{print $1, $2}'",
        "fly -t main curl /api/v1/info -- -s",
        "fly -t main curl /api/v1/wall -- -s -X PUT -d '{\"message\": \"by hand\"}'",
        "fly -t main curl /api/v1/wall -- -s",
        "fly -t main curl /api/v1/nothing/here -- -sS -o /dev/null -w '%{http_code}\\n'",
        "fly -t main curl /api/v1/user --print-and-exit | sed -E 's/bearer [^\"]+/bearer <token>/'",
    ] {
        session.run(line);
    }
    session.compare("the_server_itself");
}
